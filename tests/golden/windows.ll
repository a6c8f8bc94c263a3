; places in a storage that are named

; == mul_as_strided_scatter
; loop [p0] kept 1 vector 0
;   buffer b0 f32 written
;   access a0 b0 + p1 [1]
;   %0 f32 = load a0
;   %1 f32 = const 2 #4000000000000000
;   %2 f32 = op Mul %0 %1
;   %3 f32 = store a0 %2
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
  %9 = getelementptr i64, ptr %1, i64 1
  %10 = load i64, ptr %9, align 8
  %11 = getelementptr float, ptr %8, i64 %10
  %12 = add i64 %6, 4095
  %13 = lshr i64 %12, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %110, %tail.end ]
  %14 = phi i64 [ %2, %work ], [ %109, %tail.end ]
  %15 = icmp slt i64 %task1, %3
  br i1 %15, label %task, label %task.end

task:                                             ; preds = %task.head
  %16 = mul i64 %14, 4096
  %17 = add i64 %16, 4096
  %18 = call i64 @llvm.smin.i64(i64 %17, i64 %6)
  %19 = sub i64 %18, %16
  %20 = and i64 %19, -32
  %21 = add i64 %16, %20
  %22 = sub i64 %18, %16
  %23 = and i64 %22, -64
  %24 = add i64 %16, %23
  %25 = icmp slt i64 %16, %24
  br i1 %25, label %vectors, label %vectors.end

vectors:                                          ; preds = %vectors, %task
  %vectors2 = phi i64 [ %16, %task ], [ %72, %vectors ]
  %26 = getelementptr float, ptr %11, i64 %vectors2
  %27 = load <8 x float>, ptr %26, align 4
  %28 = getelementptr float, ptr %11, i64 %vectors2
  %29 = getelementptr float, ptr %28, i64 8
  %30 = load <8 x float>, ptr %29, align 4
  %31 = getelementptr float, ptr %11, i64 %vectors2
  %32 = getelementptr float, ptr %31, i64 16
  %33 = load <8 x float>, ptr %32, align 4
  %34 = getelementptr float, ptr %11, i64 %vectors2
  %35 = getelementptr float, ptr %34, i64 24
  %36 = load <8 x float>, ptr %35, align 4
  %37 = getelementptr float, ptr %11, i64 %vectors2
  %38 = getelementptr float, ptr %37, i64 32
  %39 = load <8 x float>, ptr %38, align 4
  %40 = getelementptr float, ptr %11, i64 %vectors2
  %41 = getelementptr float, ptr %40, i64 40
  %42 = load <8 x float>, ptr %41, align 4
  %43 = getelementptr float, ptr %11, i64 %vectors2
  %44 = getelementptr float, ptr %43, i64 48
  %45 = load <8 x float>, ptr %44, align 4
  %46 = getelementptr float, ptr %11, i64 %vectors2
  %47 = getelementptr float, ptr %46, i64 56
  %48 = load <8 x float>, ptr %47, align 4
  %49 = fmul <8 x float> %27, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %50 = fmul <8 x float> %30, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %51 = fmul <8 x float> %33, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %52 = fmul <8 x float> %36, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %53 = fmul <8 x float> %39, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %54 = fmul <8 x float> %42, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %55 = fmul <8 x float> %45, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %56 = fmul <8 x float> %48, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %57 = getelementptr float, ptr %11, i64 %vectors2
  store <8 x float> %49, ptr %57, align 4
  %58 = getelementptr float, ptr %11, i64 %vectors2
  %59 = getelementptr float, ptr %58, i64 8
  store <8 x float> %50, ptr %59, align 4
  %60 = getelementptr float, ptr %11, i64 %vectors2
  %61 = getelementptr float, ptr %60, i64 16
  store <8 x float> %51, ptr %61, align 4
  %62 = getelementptr float, ptr %11, i64 %vectors2
  %63 = getelementptr float, ptr %62, i64 24
  store <8 x float> %52, ptr %63, align 4
  %64 = getelementptr float, ptr %11, i64 %vectors2
  %65 = getelementptr float, ptr %64, i64 32
  store <8 x float> %53, ptr %65, align 4
  %66 = getelementptr float, ptr %11, i64 %vectors2
  %67 = getelementptr float, ptr %66, i64 40
  store <8 x float> %54, ptr %67, align 4
  %68 = getelementptr float, ptr %11, i64 %vectors2
  %69 = getelementptr float, ptr %68, i64 48
  store <8 x float> %55, ptr %69, align 4
  %70 = getelementptr float, ptr %11, i64 %vectors2
  %71 = getelementptr float, ptr %70, i64 56
  store <8 x float> %56, ptr %71, align 4
  %72 = add i64 %vectors2, 64
  %73 = icmp slt i64 %72, %24
  br i1 %73, label %vectors, label %vectors.end

vectors.end:                                      ; preds = %vectors, %task
  %74 = icmp slt i64 %24, %21
  br i1 %74, label %vector, label %vector.end

vector:                                           ; preds = %vector, %vectors.end
  %vector3 = phi i64 [ %24, %vectors.end ], [ %97, %vector ]
  %75 = getelementptr float, ptr %11, i64 %vector3
  %76 = load <8 x float>, ptr %75, align 4
  %77 = getelementptr float, ptr %11, i64 %vector3
  %78 = getelementptr float, ptr %77, i64 8
  %79 = load <8 x float>, ptr %78, align 4
  %80 = getelementptr float, ptr %11, i64 %vector3
  %81 = getelementptr float, ptr %80, i64 16
  %82 = load <8 x float>, ptr %81, align 4
  %83 = getelementptr float, ptr %11, i64 %vector3
  %84 = getelementptr float, ptr %83, i64 24
  %85 = load <8 x float>, ptr %84, align 4
  %86 = fmul <8 x float> %76, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %87 = fmul <8 x float> %79, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %88 = fmul <8 x float> %82, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %89 = fmul <8 x float> %85, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %90 = getelementptr float, ptr %11, i64 %vector3
  store <8 x float> %86, ptr %90, align 4
  %91 = getelementptr float, ptr %11, i64 %vector3
  %92 = getelementptr float, ptr %91, i64 8
  store <8 x float> %87, ptr %92, align 4
  %93 = getelementptr float, ptr %11, i64 %vector3
  %94 = getelementptr float, ptr %93, i64 16
  store <8 x float> %88, ptr %94, align 4
  %95 = getelementptr float, ptr %11, i64 %vector3
  %96 = getelementptr float, ptr %95, i64 24
  store <8 x float> %89, ptr %96, align 4
  %97 = add i64 %vector3, 32
  %98 = icmp slt i64 %97, %21
  br i1 %98, label %vector, label %vector.end

vector.end:                                       ; preds = %vector, %vectors.end
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail4 = phi i64 [ %21, %vector.end ], [ %108, %tail ]
  %99 = icmp slt i64 %tail4, %18
  br i1 %99, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %100 = sub i64 %18, %tail4
  %101 = call i64 @llvm.umin.i64(i64 %100, i64 8)
  %102 = trunc i64 %101 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %102, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %103 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %104 = getelementptr float, ptr %11, i64 %tail4
  %105 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %104, i32 4, <8 x i1> %103, <8 x float> zeroinitializer)
  %106 = fmul <8 x float> %105, <float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00, float 2.000000e+00>
  %107 = getelementptr float, ptr %11, i64 %tail4
  call void @llvm.masked.store.v8f32.p0(<8 x float> %106, ptr %107, i32 4, <8 x i1> %103)
  %108 = add i64 %tail4, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %109 = add i64 %14, 1
  %110 = add i64 %task1, 1
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

; == sum
; loop [p0, p1] kept 1 vector 1
;   buffer b0 f32
;   buffer b1 f32 written
;   access a0 b0 + 0 [p2, 1]
;   access a1 b1 + 0 [1, 0]
;   %0 f32 = load a0
;   %1 f32 = reduce sum %0
;   %2 f32 = store a1 %1
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
  %13 = getelementptr i64, ptr %1, i64 2
  %14 = load i64, ptr %13, align 8
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %block.end, %work
  %task1 = phi i64 [ %2, %work ], [ %100, %block.end ]
  %15 = phi i64 [ %2, %work ], [ %99, %block.end ]
  %16 = icmp slt i64 %task1, %3
  br i1 %16, label %task, label %task.end

task:                                             ; preds = %task.head
  %17 = mul i64 %15, %14
  %18 = getelementptr float, ptr %10, i64 %17
  %19 = mul i64 %15, 1
  %20 = getelementptr float, ptr %12, i64 %19
  br label %block.head

block.head:                                       ; preds = %tail.end, %task
  %block2 = phi i64 [ 0, %task ], [ %95, %tail.end ]
  %21 = phi float [ 0.000000e+00, %task ], [ %88, %tail.end ]
  %22 = phi float [ 0.000000e+00, %task ], [ %94, %tail.end ]
  %23 = icmp slt i64 %block2, %8
  br i1 %23, label %block, label %block.end

block:                                            ; preds = %block.head
  %24 = add i64 %block2, 8192
  %25 = call i64 @llvm.smin.i64(i64 %24, i64 %8)
  %26 = sub i64 %25, %block2
  %27 = and i64 %26, -32
  %28 = add i64 %block2, %27
  br label %vector.head

vector.head:                                      ; preds = %vector, %block
  %vector3 = phi i64 [ %block2, %block ], [ %53, %vector ]
  %29 = phi <8 x float> [ zeroinitializer, %block ], [ %33, %vector ]
  %30 = phi <8 x float> [ zeroinitializer, %block ], [ %34, %vector ]
  %31 = phi <8 x float> [ zeroinitializer, %block ], [ %35, %vector ]
  %32 = phi <8 x float> [ zeroinitializer, %block ], [ %36, %vector ]
  %33 = phi <8 x float> [ zeroinitializer, %block ], [ %49, %vector ]
  %34 = phi <8 x float> [ zeroinitializer, %block ], [ %50, %vector ]
  %35 = phi <8 x float> [ zeroinitializer, %block ], [ %51, %vector ]
  %36 = phi <8 x float> [ zeroinitializer, %block ], [ %52, %vector ]
  %37 = icmp slt i64 %vector3, %28
  br i1 %37, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %38 = getelementptr float, ptr %18, i64 %vector3
  %39 = load <8 x float>, ptr %38, align 4
  %40 = getelementptr float, ptr %18, i64 %vector3
  %41 = getelementptr float, ptr %40, i64 8
  %42 = load <8 x float>, ptr %41, align 4
  %43 = getelementptr float, ptr %18, i64 %vector3
  %44 = getelementptr float, ptr %43, i64 16
  %45 = load <8 x float>, ptr %44, align 4
  %46 = getelementptr float, ptr %18, i64 %vector3
  %47 = getelementptr float, ptr %46, i64 24
  %48 = load <8 x float>, ptr %47, align 4
  %49 = fadd <8 x float> %39, %29
  %50 = fadd <8 x float> %42, %30
  %51 = fadd <8 x float> %45, %31
  %52 = fadd <8 x float> %48, %32
  %53 = add i64 %vector3, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail4 = phi i64 [ %28, %vector.end ], [ %71, %tail ]
  %54 = phi <8 x float> [ %29, %vector.end ], [ %55, %tail ]
  %55 = phi <8 x float> [ %30, %vector.end ], [ %56, %tail ]
  %56 = phi <8 x float> [ %31, %vector.end ], [ %57, %tail ]
  %57 = phi <8 x float> [ %32, %vector.end ], [ %58, %tail ]
  %58 = phi <8 x float> [ %33, %vector.end ], [ %59, %tail ]
  %59 = phi <8 x float> [ %34, %vector.end ], [ %60, %tail ]
  %60 = phi <8 x float> [ %35, %vector.end ], [ %61, %tail ]
  %61 = phi <8 x float> [ %36, %vector.end ], [ %70, %tail ]
  %62 = icmp slt i64 %tail4, %25
  br i1 %62, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %63 = sub i64 %25, %tail4
  %64 = call i64 @llvm.umin.i64(i64 %63, i64 8)
  %65 = trunc i64 %64 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %65, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %66 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %67 = getelementptr float, ptr %18, i64 %tail4
  %68 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %67, i32 4, <8 x i1> %66, <8 x float> zeroinitializer)
  %69 = fadd <8 x float> %68, %54
  %70 = select <8 x i1> %66, <8 x float> %69, <8 x float> %54
  %71 = add i64 %tail4, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %72 = fadd <8 x float> %54, %58
  %73 = fadd <8 x float> %55, %59
  %74 = fadd <8 x float> %56, %60
  %75 = fadd <8 x float> %57, %61
  %76 = fadd <8 x float> %72, %74
  %77 = fadd <8 x float> %73, %75
  %78 = fadd <8 x float> %76, %77
  %79 = shufflevector <8 x float> %78, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %80 = shufflevector <8 x float> %78, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %81 = fadd <4 x float> %80, %79
  %82 = shufflevector <4 x float> %81, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %83 = shufflevector <4 x float> %81, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %84 = fadd <2 x float> %83, %82
  %85 = extractelement <2 x float> %84, i64 1
  %86 = extractelement <2 x float> %84, i64 0
  %87 = fadd float %86, %85
  %88 = fadd float %21, %87
  %89 = fsub float %88, %21
  %90 = fsub float %87, %89
  %91 = fsub float %88, %89
  %92 = fsub float %21, %91
  %93 = fadd float %92, %90
  %94 = fadd float %22, %93
  %95 = add i64 %block2, 8192
  br label %block.head

block.end:                                        ; preds = %block.head
  %96 = fadd float %21, %22
  %97 = fcmp uno float %22, %22
  %98 = select i1 %97, float %21, float %96
  store float %98, ptr %20, align 4
  %99 = add i64 %15, 1
  %100 = add i64 %task1, 1
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

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
