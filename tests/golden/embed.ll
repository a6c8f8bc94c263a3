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
  %21 = mul i64 1, %6
  %22 = mul i64 %21, %8
  %23 = icmp sge i64 %22, 8388608
  %24 = ptrtoint ptr %14 to i64
  %25 = or i64 0, %24
  %26 = mul i64 %20, 4
  %27 = or i64 %25, %26
  %28 = and i64 %27, 63
  %29 = icmp eq i64 %28, 0
  %30 = and i1 %23, %29
  %31 = add i64 %8, 4095
  %32 = lshr i64 %31, 12
  %33 = urem i64 %2, %32
  %34 = udiv i64 %2, %32
  br label %task.head

done:                                             ; preds = %endif8, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %110, %tail.end ]
  %35 = phi i64 [ %34, %work ], [ %109, %tail.end ]
  %36 = phi i64 [ %33, %work ], [ %107, %tail.end ]
  %37 = icmp slt i64 %task1, %3
  br i1 %37, label %task, label %task.end

task:                                             ; preds = %task.head
  %38 = mul i64 %35, 1
  %39 = getelementptr i64, ptr %10, i64 %38
  %40 = mul i64 %35, %20
  %41 = getelementptr float, ptr %14, i64 %40
  %42 = load i64, ptr %39, align 8
  %43 = add i64 %42, %18
  %44 = icmp slt i64 %42, 0
  %45 = select i1 %44, i64 %43, i64 %42
  %46 = mul i64 %45, %16
  %47 = getelementptr float, ptr %12, i64 %46
  %48 = mul i64 %36, 4096
  %49 = add i64 %48, 4096
  %50 = call i64 @llvm.smin.i64(i64 %49, i64 %8)
  %51 = sub i64 %50, %48
  %52 = and i64 %51, -32
  %53 = add i64 %48, %52
  br i1 %30, label %then, label %else

then:                                             ; preds = %task
  %54 = icmp slt i64 %48, %53
  br i1 %54, label %vector, label %vector.end

vector:                                           ; preds = %vector, %then
  %vector2 = phi i64 [ %48, %then ], [ %73, %vector ]
  %55 = getelementptr float, ptr %47, i64 %vector2
  %56 = load <8 x float>, ptr %55, align 4
  %57 = getelementptr float, ptr %47, i64 %vector2
  %58 = getelementptr float, ptr %57, i64 8
  %59 = load <8 x float>, ptr %58, align 4
  %60 = getelementptr float, ptr %47, i64 %vector2
  %61 = getelementptr float, ptr %60, i64 16
  %62 = load <8 x float>, ptr %61, align 4
  %63 = getelementptr float, ptr %47, i64 %vector2
  %64 = getelementptr float, ptr %63, i64 24
  %65 = load <8 x float>, ptr %64, align 4
  %66 = getelementptr float, ptr %41, i64 %vector2
  store <8 x float> %56, ptr %66, align 32, !nontemporal !0
  %67 = getelementptr float, ptr %41, i64 %vector2
  %68 = getelementptr float, ptr %67, i64 8
  store <8 x float> %59, ptr %68, align 32, !nontemporal !0
  %69 = getelementptr float, ptr %41, i64 %vector2
  %70 = getelementptr float, ptr %69, i64 16
  store <8 x float> %62, ptr %70, align 32, !nontemporal !0
  %71 = getelementptr float, ptr %41, i64 %vector2
  %72 = getelementptr float, ptr %71, i64 24
  store <8 x float> %65, ptr %72, align 32, !nontemporal !0
  %73 = add i64 %vector2, 32
  %74 = icmp slt i64 %73, %53
  br i1 %74, label %vector, label %vector.end

vector.end:                                       ; preds = %vector, %then
  br label %endif

else:                                             ; preds = %task
  %75 = icmp slt i64 %48, %53
  br i1 %75, label %vector3, label %vector.end5

vector3:                                          ; preds = %vector3, %else
  %vector4 = phi i64 [ %48, %else ], [ %94, %vector3 ]
  %76 = getelementptr float, ptr %47, i64 %vector4
  %77 = load <8 x float>, ptr %76, align 4
  %78 = getelementptr float, ptr %47, i64 %vector4
  %79 = getelementptr float, ptr %78, i64 8
  %80 = load <8 x float>, ptr %79, align 4
  %81 = getelementptr float, ptr %47, i64 %vector4
  %82 = getelementptr float, ptr %81, i64 16
  %83 = load <8 x float>, ptr %82, align 4
  %84 = getelementptr float, ptr %47, i64 %vector4
  %85 = getelementptr float, ptr %84, i64 24
  %86 = load <8 x float>, ptr %85, align 4
  %87 = getelementptr float, ptr %41, i64 %vector4
  store <8 x float> %77, ptr %87, align 4
  %88 = getelementptr float, ptr %41, i64 %vector4
  %89 = getelementptr float, ptr %88, i64 8
  store <8 x float> %80, ptr %89, align 4
  %90 = getelementptr float, ptr %41, i64 %vector4
  %91 = getelementptr float, ptr %90, i64 16
  store <8 x float> %83, ptr %91, align 4
  %92 = getelementptr float, ptr %41, i64 %vector4
  %93 = getelementptr float, ptr %92, i64 24
  store <8 x float> %86, ptr %93, align 4
  %94 = add i64 %vector4, 32
  %95 = icmp slt i64 %94, %53
  br i1 %95, label %vector3, label %vector.end5

vector.end5:                                      ; preds = %vector3, %else
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end5
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail6 = phi i64 [ %53, %endif ], [ %104, %tail ]
  %96 = icmp slt i64 %tail6, %50
  br i1 %96, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %97 = sub i64 %50, %tail6
  %98 = call i64 @llvm.umin.i64(i64 %97, i64 8)
  %99 = trunc i64 %98 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %99, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %100 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %101 = getelementptr float, ptr %47, i64 %tail6
  %102 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %101, i32 4, <8 x i1> %100, <8 x float> zeroinitializer)
  %103 = getelementptr float, ptr %41, i64 %tail6
  call void @llvm.masked.store.v8f32.p0(<8 x float> %102, ptr %103, i32 4, <8 x i1> %100)
  %104 = add i64 %tail6, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %105 = add i64 %36, 1
  %106 = icmp eq i64 %105, %32
  %107 = select i1 %106, i64 0, i64 %105
  %108 = zext i1 %106 to i64
  %109 = add i64 %35, %108
  %110 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %30, label %then7, label %endif8

then7:                                            ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif8

endif8:                                           ; preds = %task.end, %then7
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

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}
