; weights that are widened before a product are read as they are stored

; == full
; loop [p0] kept 1 vector 0
;   buffer b0 f32 written
;   access a0 b0 + 0 [0]
;   %0 f32 = const 1 #3ff0000000000000
;   %1 f32 = store a0 %0
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
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = add i64 %6, 4095
  %10 = lshr i64 %9, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %28, %tail.end ]
  %11 = phi i64 [ %2, %work ], [ %27, %tail.end ]
  %12 = icmp slt i64 %task1, %3
  br i1 %12, label %task, label %task.end

task:                                             ; preds = %task.head
  %13 = mul i64 %11, 4096
  %14 = add i64 %13, 4096
  %15 = call i64 @llvm.smin.i64(i64 %14, i64 %6)
  %16 = sub i64 %15, %13
  %17 = and i64 %16, -32
  %18 = add i64 %13, %17
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %13, %task ], [ %20, %vector ]
  %19 = icmp slt i64 %vector2, %18
  br i1 %19, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  store float 1.000000e+00, ptr %8, align 4
  %20 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %18, %vector.end ], [ %26, %tail ]
  %21 = icmp slt i64 %tail3, %15
  br i1 %21, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %22 = sub i64 %15, %tail3
  %23 = call i64 @llvm.umin.i64(i64 %22, i64 8)
  %24 = trunc i64 %23 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %24, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %25 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  store float 1.000000e+00, ptr %8, align 4
  %26 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %27 = add i64 %11, 1
  %28 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

; == relu
; loop [p0] kept 1 vector 0
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = const 0 #0000000000000000
;   %2 f32 = op Max %0 %1
;   %3 f32 = store a1 %2
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
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = add i64 %6, 4095
  %12 = lshr i64 %11, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %81, %tail.end ]
  %13 = phi i64 [ %2, %work ], [ %80, %tail.end ]
  %14 = icmp slt i64 %task1, %3
  br i1 %14, label %task, label %task.end

task:                                             ; preds = %task.head
  %15 = mul i64 %13, 4096
  %16 = add i64 %15, 4096
  %17 = call i64 @llvm.smin.i64(i64 %16, i64 %6)
  %18 = sub i64 %17, %15
  %19 = and i64 %18, -32
  %20 = add i64 %15, %19
  br label %vector.head

vector.head:                                      ; preds = %vector, %task
  %vector2 = phi i64 [ %15, %task ], [ %64, %vector ]
  %21 = icmp slt i64 %vector2, %20
  br i1 %21, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %22 = mul i64 %vector2, 1
  %23 = getelementptr float, ptr %8, i64 %22
  %24 = load <8 x float>, ptr %23, align 4
  %25 = mul i64 %vector2, 1
  %26 = getelementptr float, ptr %8, i64 %25
  %27 = getelementptr float, ptr %26, i64 8
  %28 = load <8 x float>, ptr %27, align 4
  %29 = mul i64 %vector2, 1
  %30 = getelementptr float, ptr %8, i64 %29
  %31 = getelementptr float, ptr %30, i64 16
  %32 = load <8 x float>, ptr %31, align 4
  %33 = mul i64 %vector2, 1
  %34 = getelementptr float, ptr %8, i64 %33
  %35 = getelementptr float, ptr %34, i64 24
  %36 = load <8 x float>, ptr %35, align 4
  %37 = fcmp ogt <8 x float> %24, zeroinitializer
  %38 = select <8 x i1> %37, <8 x float> %24, <8 x float> zeroinitializer
  %39 = fcmp uno <8 x float> %24, %24
  %40 = select <8 x i1> %39, <8 x float> %24, <8 x float> %38
  %41 = fcmp ogt <8 x float> %28, zeroinitializer
  %42 = select <8 x i1> %41, <8 x float> %28, <8 x float> zeroinitializer
  %43 = fcmp uno <8 x float> %28, %28
  %44 = select <8 x i1> %43, <8 x float> %28, <8 x float> %42
  %45 = fcmp ogt <8 x float> %32, zeroinitializer
  %46 = select <8 x i1> %45, <8 x float> %32, <8 x float> zeroinitializer
  %47 = fcmp uno <8 x float> %32, %32
  %48 = select <8 x i1> %47, <8 x float> %32, <8 x float> %46
  %49 = fcmp ogt <8 x float> %36, zeroinitializer
  %50 = select <8 x i1> %49, <8 x float> %36, <8 x float> zeroinitializer
  %51 = fcmp uno <8 x float> %36, %36
  %52 = select <8 x i1> %51, <8 x float> %36, <8 x float> %50
  %53 = mul i64 %vector2, 1
  %54 = getelementptr float, ptr %10, i64 %53
  store <8 x float> %40, ptr %54, align 4
  %55 = mul i64 %vector2, 1
  %56 = getelementptr float, ptr %10, i64 %55
  %57 = getelementptr float, ptr %56, i64 8
  store <8 x float> %44, ptr %57, align 4
  %58 = mul i64 %vector2, 1
  %59 = getelementptr float, ptr %10, i64 %58
  %60 = getelementptr float, ptr %59, i64 16
  store <8 x float> %48, ptr %60, align 4
  %61 = mul i64 %vector2, 1
  %62 = getelementptr float, ptr %10, i64 %61
  %63 = getelementptr float, ptr %62, i64 24
  store <8 x float> %52, ptr %63, align 4
  %64 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %20, %vector.end ], [ %79, %tail ]
  %65 = icmp slt i64 %tail3, %17
  br i1 %65, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %66 = sub i64 %17, %tail3
  %67 = call i64 @llvm.umin.i64(i64 %66, i64 8)
  %68 = trunc i64 %67 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %68, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %69 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %70 = mul i64 %tail3, 1
  %71 = getelementptr float, ptr %8, i64 %70
  %72 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %71, i32 4, <8 x i1> %69, <8 x float> zeroinitializer)
  %73 = fcmp ogt <8 x float> %72, zeroinitializer
  %74 = select <8 x i1> %73, <8 x float> %72, <8 x float> zeroinitializer
  %75 = fcmp uno <8 x float> %72, %72
  %76 = select <8 x i1> %75, <8 x float> %72, <8 x float> %74
  %77 = mul i64 %tail3, 1
  %78 = getelementptr float, ptr %10, i64 %77
  call void @llvm.masked.store.v8f32.p0(<8 x float> %76, ptr %78, i32 4, <8 x i1> %69)
  %79 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %80 = add i64 %13, 1
  %81 = add i64 %task1, 1
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
