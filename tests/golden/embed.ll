; index values that are checked while the call runs

; == index_select
; loop [p0, p1] kept 2 vector 1
;   buffer b0 i64
;   buffer b1 f32
;   buffer b2 f32 written
;   access a0 b0 + 0 [1, 0]
;   access a1 b1 + 0 [0, 1] gather %0 * p2 of p3
;   access a2 b2 + 0 [p4, 1]
;   %0 i64 = load a0
;   %1 f32 = load a1
;   %2 f32 = store a2 %1
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 0
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 1
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr ptr, ptr %0, i64 2
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr i64, ptr %1, i64 2
  %16 = load i64, ptr %15, align 8
  %17 = getelementptr i64, ptr %1, i64 3
  %18 = load i64, ptr %17, align 8
  %19 = getelementptr i64, ptr %1, i64 4
  %20 = load i64, ptr %19, align 8
  %21 = add i64 %8, 4095
  %22 = lshr i64 %21, 12
  %23 = urem i64 %2, %22
  %24 = udiv i64 %2, %22
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %108, %tail.end ]
  %25 = phi i64 [ %24, %work ], [ %107, %tail.end ]
  %26 = phi i64 [ %23, %work ], [ %105, %tail.end ]
  %27 = icmp slt i64 %task1, %3
  br i1 %27, label %task, label %task.end

task:                                             ; preds = %task.head
  %28 = mul i64 %25, 1
  %29 = getelementptr i64, ptr %10, i64 %28
  %30 = mul i64 %25, %20
  %31 = getelementptr float, ptr %14, i64 %30
  %32 = load i64, ptr %29, align 8
  %33 = mul i64 %26, 4096
  %34 = add i64 %33, 4096
  %35 = call i64 @llvm.smin.i64(i64 %34, i64 %8)
  %36 = sub i64 %35, %33
  %37 = and i64 %36, -32
  %38 = add i64 %33, %37
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %33, %task ], [ %86, %vector ]
  %39 = icmp slt i64 %vector2, %38
  br i1 %39, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %40 = mul i64 %vector2, 1
  %41 = getelementptr float, ptr %12, i64 %40
  %42 = add i64 %32, %18
  %43 = icmp slt i64 %32, 0
  %44 = select i1 %43, i64 %42, i64 %32
  %45 = mul i64 %44, %16
  %46 = getelementptr float, ptr %41, i64 %45
  %47 = load <8 x float>, ptr %46, align 4
  %48 = mul i64 %vector2, 1
  %49 = getelementptr float, ptr %12, i64 %48
  %50 = getelementptr float, ptr %49, i64 8
  %51 = add i64 %32, %18
  %52 = icmp slt i64 %32, 0
  %53 = select i1 %52, i64 %51, i64 %32
  %54 = mul i64 %53, %16
  %55 = getelementptr float, ptr %50, i64 %54
  %56 = load <8 x float>, ptr %55, align 4
  %57 = mul i64 %vector2, 1
  %58 = getelementptr float, ptr %12, i64 %57
  %59 = getelementptr float, ptr %58, i64 16
  %60 = add i64 %32, %18
  %61 = icmp slt i64 %32, 0
  %62 = select i1 %61, i64 %60, i64 %32
  %63 = mul i64 %62, %16
  %64 = getelementptr float, ptr %59, i64 %63
  %65 = load <8 x float>, ptr %64, align 4
  %66 = mul i64 %vector2, 1
  %67 = getelementptr float, ptr %12, i64 %66
  %68 = getelementptr float, ptr %67, i64 24
  %69 = add i64 %32, %18
  %70 = icmp slt i64 %32, 0
  %71 = select i1 %70, i64 %69, i64 %32
  %72 = mul i64 %71, %16
  %73 = getelementptr float, ptr %68, i64 %72
  %74 = load <8 x float>, ptr %73, align 4
  %75 = mul i64 %vector2, 1
  %76 = getelementptr float, ptr %31, i64 %75
  store <8 x float> %47, ptr %76, align 4
  %77 = mul i64 %vector2, 1
  %78 = getelementptr float, ptr %31, i64 %77
  %79 = getelementptr float, ptr %78, i64 8
  store <8 x float> %56, ptr %79, align 4
  %80 = mul i64 %vector2, 1
  %81 = getelementptr float, ptr %31, i64 %80
  %82 = getelementptr float, ptr %81, i64 16
  store <8 x float> %65, ptr %82, align 4
  %83 = mul i64 %vector2, 1
  %84 = getelementptr float, ptr %31, i64 %83
  %85 = getelementptr float, ptr %84, i64 24
  store <8 x float> %74, ptr %85, align 4
  %86 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %38, %vector.end ], [ %102, %tail ]
  %87 = icmp slt i64 %tail3, %35
  br i1 %87, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %88 = sub i64 %35, %tail3
  %89 = call i64 @llvm.umin.i64(i64 %88, i64 8)
  %90 = trunc i64 %89 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %90, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %91 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %92 = mul i64 %tail3, 1
  %93 = getelementptr float, ptr %12, i64 %92
  %94 = add i64 %32, %18
  %95 = icmp slt i64 %32, 0
  %96 = select i1 %95, i64 %94, i64 %32
  %97 = mul i64 %96, %16
  %98 = getelementptr float, ptr %93, i64 %97
  %99 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %98, i32 4, <8 x i1> %91, <8 x float> zeroinitializer)
  %100 = mul i64 %tail3, 1
  %101 = getelementptr float, ptr %31, i64 %100
  call void @llvm.masked.store.v8f32.p0(<8 x float> %99, ptr %101, i32 4, <8 x i1> %91)
  %102 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %103 = add i64 %26, 1
  %104 = icmp eq i64 %103, %22
  %105 = select i1 %104, i64 0, i64 %103
  %106 = zext i1 %104 to i64
  %107 = add i64 %25, %106
  %108 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }
